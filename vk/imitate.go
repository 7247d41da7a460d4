package vk

// PipelineSource holds the inputs from which a pipeline is compiled.
type PipelineSource struct {
	Shader *Shader
	Spec   []uint32 // in the order of Shader.Spec; nil: the defaults
	// Subgroup is the subgroup size that the pipeline requires, 0 for any.
	Subgroup uint32
}

// Imitate opens a device that reports info instead of its own, and computes nothing: programs are checked as on the device that info describes,
// and instead of compiling their pipelines it passes each new one to asked, from several goroutines at once. Runs end at once and change no memory;
// [Buffer.Write] and [Buffer.Read] work as ever. Tools find out by it what a program asks of a GPU that the machine lacks. Buffers take memory of
// the device below, which the driver need not fill before the host writes it.
func Imitate(info Info, asked func(PipelineSource)) Option {
	return func(c *config) { c.imitated = &imitation{info, asked} }
}

// Imitates reports whether the device imitates another, so that it computes nothing. What other programs would do between its computations need not be
// done then.
func (d *Device) Imitates() bool { return d.cfg.imitated != nil }

type imitation struct {
	info  Info
	asked func(PipelineSource)
}

// imitate replaces what p reports. What concerns memory and waiting remains the real device's.
func (p *physical) imitate(info Info) {
	const own = TimelineSemaphore | MemoryBudget | PipelineStatistics
	info.Index, info.MemoryBytes, info.Unified, info.ResizableBAR = p.info.Index, p.info.MemoryBytes, p.info.Unified, p.info.ResizableBAR
	info.Limits.StorageAlignment = max(info.Limits.StorageAlignment, p.info.Limits.StorageAlignment)
	info.Limits.MaxBufferBytes = min(info.Limits.MaxBufferBytes, p.info.Limits.MaxBufferBytes)
	info.Features = info.Features&^own | p.info.Features&own
	p.info, p.requiredSize = info, info.Limits.MaxSubgroups > 0
}

package vk

import (
	"context"
	"fmt"
	"sync"
)

// stagingBytes is the size of the pieces in which Write and Read move data if the host cannot access a buffer directly.
const stagingBytes = 8 << 20

// transfer moves bytes between host and device.
type transfer struct {
	sync.Mutex
	ready    bool
	pool     vkCommandPool
	commands []vkCommandBuffer // one
	up, down *Buffer
	last     uint64 // the last submission that used them
}

// Write copies data to the buffer at offset off. It executes after all earlier submissions and before all later ones.
// If ctx is done, part of the data may have been written.
func (b *Buffer) Write(ctx context.Context, off int64, data []byte) error {
	return b.move(ctx, "Write", off, data, true)
}

// Read copies from the buffer at offset off into data. It sees the writes of all earlier submissions.
func (b *Buffer) Read(ctx context.Context, off int64, data []byte) error {
	return b.move(ctx, "Read", off, data, false)
}

func (b *Buffer) move(ctx context.Context, op string, off int64, data []byte, up bool) error {
	d := b.d
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.exit()
	if len(data) == 0 {
		return nil
	}
	r := b.Range(off, int64(len(data)))
	if err := r.check(d); err != nil {
		return fmt.Errorf("vk: %s: %w", op, err)
	}
	if err := d.lost(); err != nil {
		return err
	}
	var err error
	// The host reads uncached memory very slowly; a copy by the device is faster.
	if b.arena.mapped != nil && (up || b.arena.typ.flags.has(memCached)) {
		err = d.moveMapped(ctx, r, data, up)
	} else {
		err = d.moveStaged(ctx, r, data, up)
	}
	if err != nil {
		return err
	}
	if up {
		d.counters.bytesUp.Add(uint64(len(data)))
	} else {
		d.counters.bytesDown.Add(uint64(len(data)))
	}
	return nil
}

// moveMapped copies on the host, once the device no longer uses the buffer.
func (d *Device) moveMapped(ctx context.Context, r Range, data []byte, up bool) error {
	b, s := r.Buffer, r.Buffer.part(r.Offset, r.Size)
	d.queue.Lock()
	last := b.lastUse
	d.queue.Unlock()
	if err := d.wait(ctx, last); err != nil {
		return err
	}
	mapped := b.bytes()[r.Offset : r.Offset+r.Size]
	if up {
		copy(mapped, data)
		if res := d.flush(b.arena, s); res != resultSuccess {
			return d.fail("vkFlushMappedMemoryRanges", res)
		}
		return nil
	}
	if res := d.invalidate(b.arena, s); res != resultSuccess {
		return d.fail("vkInvalidateMappedMemoryRanges", res)
	}
	copy(data, mapped)
	return nil
}

// moveStaged copies through host-visible memory, one piece at a time.
func (d *Device) moveStaged(ctx context.Context, r Range, data []byte, up bool) error {
	t := &d.transfer
	t.Lock()
	defer t.Unlock()
	stage, err := t.open(d, up)
	if err != nil {
		return err
	}
	// A cancelled transfer may still be running.
	if err := d.wait(ctx, t.last); err != nil {
		return err
	}
	for done := 0; done < len(data); {
		n := min(len(data)-done, stagingBytes)
		host, device := stage.Range(0, int64(n)), r.Buffer.Range(r.Offset+int64(done), int64(n))
		var tp tape
		tp.barrier(deviceStages, deviceStages)
		if up {
			if err := d.moveMapped(ctx, host, data[done:done+n], true); err != nil {
				return err
			}
			tp.copy(host, device)
		} else {
			tp.copy(device, host)
			tp.barrier(deviceStages, hostStage)
		}
		if err := tp.replay(d, t.commands[0], "transfer"); err != nil {
			return err
		}
		if t.last, err = d.submit("transfer", [][]vkCommandBuffer{t.commands}, []*Buffer{stage, r.Buffer}); err != nil {
			return err
		}
		if err := d.wait(ctx, t.last); err != nil {
			return err
		}
		if !up {
			if err := d.moveMapped(ctx, host, data[done:done+n], false); err != nil {
				return err
			}
		}
		done += n
	}
	return nil
}

// open creates the objects that transfers need, at the first transfer.
func (t *transfer) open(d *Device, up bool) (*Buffer, error) {
	if !t.ready {
		const resettable = 0x2 // VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
		info := vkCommandPoolCreateInfo{SType: structureTypeCommandPoolCreateInfo, Flags: resettable, QueueFamilyIndex: uint32(d.phys.family)}
		r := create(&t.pool, func(h *vkCommandPool) vkResult { return vkCreateCommandPool(d.handle, &info, nil, h) })
		info.Free()
		if r != resultSuccess {
			return nil, d.fail("vkCreateCommandPool", r)
		}
		t.ready = true
	}
	if t.commands == nil {
		c := commands{pool: t.pool}
		buffers, err := c.allocate(d, 1)
		if err != nil {
			return nil, err
		}
		t.commands = buffers
	}
	stage, use := &t.down, useReadback
	if up {
		stage, use = &t.up, useUpload
	}
	if *stage == nil {
		b, err := d.newBuffer(stagingBytes, staging, use)
		if err != nil {
			return nil, err
		}
		*stage = b
	}
	return *stage, nil
}

func (t *transfer) destroy(d *Device) {
	if t.ready {
		vkDestroyCommandPool(d.handle, t.pool, nil)
	}
	t.ready = false
}

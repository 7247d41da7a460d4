package metrics

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
)

// WriteHyper writes one session of TensorBoard's HParams view into dir, a folder of its own below the run's: the hyperparameters of a
// member and the values that they led to. The sessions of a population make a table there, and a plot of parallel coordinates.
func WriteHyper(dir string, envSteps int64, hyper, values map[string]float64) error {
	e, err := NewEvents(dir, 0)
	if err != nil {
		return err
	}
	now := time.Now()
	err = errors.Join(
		e.write(event(now, 0, sessionSummary("_hparams_/session_start_info", fieldSessionStart, startInfo(now, hyper)))),
		e.writeAt(now, Record{EnvSteps: envSteps, Values: values}),
		e.write(event(now, envSteps, sessionSummary("_hparams_/session_end_info", fieldSessionEnd, endInfo(now)))),
		e.Sync(),
	)
	return errors.Join(err, e.Close())
}

// Field numbers and values of the HParams plugin's messages (tensorboard/plugins/hparams/plugin_data.proto).
const (
	fieldMetadata      = 9 // Summary.Value: SummaryMetadata
	fieldPluginData    = 1 // SummaryMetadata: PluginData
	fieldPluginName    = 1 // PluginData: string
	fieldPluginContent = 2 // PluginData: bytes

	fieldSessionStart = 3 // HParamsPluginData: SessionStartInfo
	fieldSessionEnd   = 4 // HParamsPluginData: SessionEndInfo

	fieldHyper     = 1 // SessionStartInfo: map<string, google.protobuf.Value>
	fieldStartTime = 5 // SessionStartInfo: double, seconds since 1970
	fieldKey       = 1 // of a map's entry
	fieldMapped    = 2 // of a map's entry
	fieldNumber    = 2 // google.protobuf.Value: double

	fieldEndStatus = 1 // SessionEndInfo: enum
	fieldEndTime   = 2 // SessionEndInfo: double, seconds since 1970
	statusSuccess  = 1
)

func startInfo(t time.Time, hyper map[string]float64) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(hyper)) {
		entry := appendBytes(nil, fieldKey, []byte(name))
		entry = appendBytes(entry, fieldMapped, appendDouble(nil, fieldNumber, hyper[name]))
		b = appendBytes(b, fieldHyper, entry)
	}
	return appendDouble(b, fieldStartTime, seconds(t))
}

func endInfo(t time.Time) []byte {
	return appendDouble(appendVarint(nil, fieldEndStatus, statusSuccess), fieldEndTime, seconds(t))
}

// sessionSummary is an event's payload: a value without data, whose metadata the plugin reads.
func sessionSummary(tag string, field int, info []byte) []byte {
	plugin := appendBytes(nil, fieldPluginName, []byte("hparams"))
	plugin = appendBytes(plugin, fieldPluginContent, appendBytes(nil, field, info))
	value := appendBytes(nil, fieldTag, []byte(tag))
	value = appendBytes(value, fieldMetadata, appendBytes(nil, fieldPluginData, plugin))
	return appendBytes(nil, fieldSummary, appendBytes(nil, fieldValue, value))
}

func appendDouble(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(field<<3|wireFixed8)), math.Float64bits(v))
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

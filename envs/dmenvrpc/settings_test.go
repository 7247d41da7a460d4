package dmenvrpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// Settings in JSON are the tensors that Python packs of the same values.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 3}`:                      `int64s { array: 3 }`,
		`{"a": -0.5}`:                   `doubles { array: -0.5 }`,
		`{"a": true}`:                   `bools { array: true }`,
		`{"a": "x"}`:                    `strings { array: "x" }`,
		`{"a": [1, 2.5]}`:               `doubles { array: [1, 2.5] } shape: 2`,
		`{"a": [[1, 2, 3], [4, 5, 6]]}`: `int64s { array: [1, 2, 3, 4, 5, 6] } shape: [2, 3]`,
		`{"a": {"type": "uint8", "value": [0, 255]}}`:   `uint8s { array: "\x00\xff" } shape: 2`,
		`{"a": {"type": "int8", "value": -1}}`:          `int8s { array: "\xff" }`,
		`{"a": {"type": "float", "value": 1}}`:          `floats { array: 1 }`,
		`{"a": {"type": "uint64", "value": 7}}`:         `uint64s { array: 7 }`,
		`{"a": {"type": "string", "value": ["b", ""]}}`: `strings { array: ["b", ""] } shape: 2`,
	} {
		got, err := parseSettings(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		of := &pb.Tensor{}
		if err := prototext.Unmarshal([]byte(want), of); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got["a"], of) {
			t.Errorf("%s: %v; want %v", text, got["a"], of)
		}
	}
	for text, want := range map[string]string{
		`3`: "no JSON object", `{"a": 1} {}`: "more than one", `{"a": null}`: "is no setting", `{"a": []}`: "empty array",
		`{"a": [[1], [1, 2]]}`: "rows differ", `{"a": [1, "x"]}`: "want elements of one type", `{"a": {"value": 1}}`: "want these two",
		`{"a": {"type": "int8", "value": 128}}`: "128 is no int8", `{"a": {"type": "uint32", "value": -1}}`: "-1 is no uint32",
		`{"a": {"type": "int32", "value": 1.5}}`: "1.5 is no int32", `{"a": {"type": "proto", "value": 1}}`: "want float, double",
		`{"a": {"type": "float", "value": "x"}}`: "x is no float",
	} {
		if got, err := parseSettings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
}

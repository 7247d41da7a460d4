// Package pb is the protocol dm_env_rpc v1: dm_env_rpc.proto is DeepMind's (dm_env_rpc 1.1.7, Apache License 2.0: docs/licenses/apache-2.0.txt), and the
// other files are what protoc-gen-go 1.36.12 and protoc-gen-go-grpc 1.6.2 make of it. google/rpc/status.proto is one of googleapis-common-protos.
//
//	protoc -I . -I GOOGLEAPIS --go_out=. --go_opt=paths=source_relative,Mdm_env_rpc.proto=github.com/evorl/evorl/envs/dmenvrpc/internal/pb \
//	  --go-grpc_out=. --go-grpc_opt=paths=source_relative,Mdm_env_rpc.proto=github.com/evorl/evorl/envs/dmenvrpc/internal/pb dm_env_rpc.proto
//
// The files that it writes, dm_env_rpc.pb.go and dm_env_rpc_grpc.pb.go, are named as generated ones are here.
package pb

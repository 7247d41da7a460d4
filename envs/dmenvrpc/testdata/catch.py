"""A server of dm_env_rpc, by its Python package: catch a ball that falls, on a board of 5 x 5. It writes its port.

Balls begin in the column seed % 5 and one further in every sequence. python_test.go has the same rules.
"""

from concurrent import futures

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, spec_manager, tensor_spec_utils, tensor_utils
from google.rpc import status_pb2

SIZE = 5
BOARD = pb.TensorSpec(name="board", shape=[SIZE, SIZE], dtype=pb.UINT8)
REWARD = pb.TensorSpec(name="reward", dtype=pb.FLOAT)
PADDLE = pb.TensorSpec(name="paddle", dtype=pb.INT8)
tensor_spec_utils.set_bounds(PADDLE, np.int8(-1), np.int8(1))
SPECS = pb.ActionObservationSpecs(actions={4: PADDLE}, observations={8: BOARD, 3: REWARD})


class World:
    def __init__(self, seed):
        self.seed, self.running = seed, False

    def begin(self):
        self.ball, self.row, self.paddle, self.running = self.seed % SIZE, 0, SIZE // 2, True
        self.seed += 1

    def step(self, actions):
        if not self.running:
            self.begin()
            return pb.RUNNING, 0
        self.paddle = int(np.clip(self.paddle + spec_manager.SpecManager(SPECS.actions).unpack(actions)["paddle"], 0, SIZE - 1))
        self.row += 1
        if self.row < SIZE - 1:
            return pb.RUNNING, 0
        self.running = False
        return pb.TERMINATED, 1 if self.paddle == self.ball else -1

    def board(self):
        out = np.zeros((SIZE, SIZE), np.uint8)
        out[self.row, self.ball] = 255
        out[SIZE - 1, self.paddle] = 255
        return out


def answer(world, request):
    kind = request.WhichOneof("payload")
    if kind == "create_world":
        return World(int(tensor_utils.unpack_tensor(request.create_world.settings["seed"]))), pb.CreateWorldResponse(world_name="catch")
    if kind == "join_world":
        return world, pb.JoinWorldResponse(specs=SPECS)
    if kind == "reset":
        if "seed" in request.reset.settings:
            world.seed = int(tensor_utils.unpack_tensor(request.reset.settings["seed"]))
        world.running = False
        return world, pb.ResetResponse(specs=SPECS)
    if kind == "leave_world":
        return world, pb.LeaveWorldResponse()
    if kind == "destroy_world":
        return None, pb.DestroyWorldResponse()
    state, reward = world.step(request.step.actions)
    packed = spec_manager.SpecManager(SPECS.observations).pack({"board": world.board(), "reward": reward})
    return world, pb.StepResponse(state=state, observations={uid: packed[uid] for uid in request.step.requested_observations})


class Catch(dm_env_rpc_pb2_grpc.EnvironmentServicer):
    def Process(self, requests, context):
        world = None
        for request in requests:
            response = pb.EnvironmentResponse()
            try:
                world, payload = answer(world, request)
                getattr(response, request.WhichOneof("payload")).CopyFrom(payload)
            except Exception as e:
                response.error.CopyFrom(status_pb2.Status(code=13, message=repr(e)))
            yield response


server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(Catch(), server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()

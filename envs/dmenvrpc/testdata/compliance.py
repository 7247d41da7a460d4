"""Runs dm_env_rpc's own compliance tests, and dm_env's, against the server whose HOST:PORT is the first argument.

Needs the packages dm-env-rpc and dm-env. python_test.go runs it.
"""

import sys

import grpc
import numpy as np
from absl.testing import absltest
from dm_env import specs as dm_specs
from dm_env import test_utils
from dm_env_rpc.v1 import compliance, connection, dm_env_adaptor, dm_env_rpc_pb2, tensor_utils

ADDRESS = sys.argv.pop(1)
WRONG = {"level": tensor_utils.pack_tensor(3)}


class Stream:
    """A stream, with a world that is created, and joined if asked for."""

    def __init__(self, create=True, join=False):
        self.channel = grpc.insecure_channel(ADDRESS)
        self.connection = connection.Connection(self.channel)
        self.world, self.specs = None, None
        if create:
            settings = {"seed": tensor_utils.pack_tensor(7)}
            self.world = self.connection.send(dm_env_rpc_pb2.CreateWorldRequest(settings=settings)).world_name
        if join:
            self.specs = self.connection.send(dm_env_rpc_pb2.JoinWorldRequest(world_name=self.world)).specs

    def close(self):
        self.connection.send(dm_env_rpc_pb2.LeaveWorldRequest())
        if self.world:
            self.connection.send(dm_env_rpc_pb2.DestroyWorldRequest(world_name=self.world))
        self.connection.close()
        self.channel.close()


class Streamed:
    create, join = True, False

    def setUp(self):
        self.stream = Stream(self.create, self.join)
        super().setUp()

    def tearDown(self):
        super().tearDown()
        self.stream.close()

    @property
    def connection(self):
        return self.stream.connection

    @property
    def world_name(self):
        return self.stream.world

    @property
    def specs(self):
        return self.stream.specs


class CreateDestroyTest(Streamed, compliance.CreateDestroyWorld):
    create = False
    required_world_settings = {}
    invalid_world_settings = WRONG
    has_multiple_world_support = True


class JoinLeaveTest(Streamed, compliance.JoinLeaveWorld):
    invalid_join_settings = WRONG


class ResetTest(Streamed, compliance.Reset):
    def join_world(self):
        return self.connection.send(dm_env_rpc_pb2.JoinWorldRequest(world_name=self.world_name)).specs


class ResetWorldTest(Streamed, compliance.ResetWorld):
    pass


class StepTest(Streamed, compliance.Step):
    join = True

    @property
    def required_actions(self):
        out = {}
        for uid, spec in self.specs.actions.items():
            value = np.zeros(list(spec.shape), tensor_utils.data_type_to_np_type(spec.dtype))
            out[uid] = tensor_utils.pack_tensor(value)
        return out


class EnvironmentTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        self.stream = Stream(join=True)
        return dm_env_adaptor.DmEnvAdaptor(self.stream.connection, self.stream.specs)

    def tearDown(self):
        super().tearDown()  # closes the connection
        self.stream.channel.close()

    def make_action_sequence(self):
        rng = np.random.default_rng(1)
        spec = self.environment.action_spec()["action"]
        for _ in range(80):
            if isinstance(spec, dm_specs.DiscreteArray):
                yield {"action": np.asarray(rng.integers(spec.num_values), spec.dtype)}
            else:
                yield {"action": rng.uniform(spec.minimum, spec.maximum, spec.shape).astype(spec.dtype)}


if __name__ == "__main__":
    absltest.main()

package vk

// Tests that need a process of their own: the test binary runs itself with childEnv naming what to do.

const childEnv = "EVORL_VK_TEST_CHILD"

func child() int { return 0 }

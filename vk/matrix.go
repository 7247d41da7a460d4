package vk

// #include "shim.h"
import "C"

import "fmt"

// Component is the type of a cooperative matrix's elements, with the values of VkComponentTypeKHR.
type Component int32

// The component types by which products are chosen; drivers list others.
const (
	ComponentFloat16 Component = 0
	ComponentFloat32 Component = 1
)

// String returns float16 or float32, or the number of another type.
func (c Component) String() string {
	switch c {
	case ComponentFloat16:
		return "float16"
	case ComponentFloat32:
		return "float32"
	}
	return fmt.Sprintf("component type %d", int32(c))
}

// MatrixProduct is a product that the device computes by the cooperative matrices of a subgroup
// (VK_KHR_cooperative_matrix): Result = A B + C, with A of M × K, B of K × N, C and Result of M × N.
type MatrixProduct struct {
	M, N, K         uint32
	A, B, C, Result Component
}

// String formats the product as, for example, "16 × 16 × 16, float16 × float16 + float32 → float32".
func (m MatrixProduct) String() string {
	return fmt.Sprintf("%d × %d × %d, %v × %v + %v → %v", m.M, m.N, m.K, m.A, m.B, m.C, m.Result)
}

// matrixProducts lists the products of a physical device.
func (in *instance) matrixProducts(pd vkPhysicalDevice) ([]MatrixProduct, error) {
	var all [256]C.evk_matrix // NVIDIA lists some twenty
	n := C.uint32_t(len(all))
	if r := Result(C.evk_matrix_products(in.c, pointer(pd), &all[0], &n)); r != resultSuccess {
		return nil, &DeviceError{Op: "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", Result: r}
	}
	var out []MatrixProduct
	for _, m := range all[:n] {
		out = append(out, MatrixProduct{
			M: uint32(m.m), N: uint32(m.n), K: uint32(m.k),
			A: Component(m.a), B: Component(m.b), C: Component(m.c), Result: Component(m.result),
		})
	}
	return out, nil
}

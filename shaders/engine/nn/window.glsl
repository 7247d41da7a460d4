// The window of a convolution, as specialization constants from WINDOW_ID on: divisions by them are multiplications.

#ifndef WINDOW_ID
#define WINDOW_ID 1
#endif

layout(constant_id = WINDOW_ID) const uint HEIGHT = 1; // of the image
layout(constant_id = WINDOW_ID + 1) const uint WIDTH = 1;
layout(constant_id = WINDOW_ID + 2) const uint CHANNELS = 1;
layout(constant_id = WINDOW_ID + 3) const uint KERNEL = 1; // rows and columns of the window
layout(constant_id = WINDOW_ID + 4) const uint STRIDE = 1;
layout(constant_id = WINDOW_ID + 5) const uint TOP = 0; // rows of zeros above the image
layout(constant_id = WINDOW_ID + 6) const uint LEFT = 0; // columns of zeros before it
layout(constant_id = WINDOW_ID + 7) const uint OUT_HEIGHT = 1; // places of the window
layout(constant_id = WINDOW_ID + 8) const uint OUT_WIDTH = 1;

const uint PLACES = OUT_HEIGHT * OUT_WIDTH;
const uint PATCH = KERNEL * KERNEL * CHANNELS; // floats

// The places from the first up to, but not including, the end have windows that hold a coordinate of the padded image.
uint first_place(uint at) { return at < KERNEL ? 0u : (at - KERNEL) / STRIDE + 1u; }
uint end_place(uint at, uint places) { return min(at / STRIDE + 1u, places); }

/* Any bytes as an OBJ file. */
#include "driver/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return read_mesh("input.obj", data, size); }

// Everything that runs on a GPU, in one unit.
#include "decoder.cu"
#include "minilm.cu"

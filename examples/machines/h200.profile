flowc profile 1
date = 2026-11-22
note = nothing here was measured on such a machine: published peaks, and guesses of what is reached

# A server with one NVIDIA H200 SXM and 16 cores of its host. `flowc explain --machine=` predicts
# with it; what is published are peaks, which kernels come near to at best.
device cpu
name = 16 cores of an Intel Xeon with AVX-512
cores = 16 guess
f32 = 2000 GFLOP/s guess
f64 = 1000 GFLOP/s guess
bf16 = 8000 GFLOP/s guess
cache = 1500 GB/s guess
memory = 200 GB/s guess
size = 128 GiB guess
start = 1 us guess
decode = 400 MB/s guess

device gpu(0)
name = NVIDIA H200
f32 = 67 TFLOP/s published
f64 = 34 TFLOP/s published
bf16 = 989 TFLOP/s published
memory = 4.8 TB/s published
size = 131.3 GiB published
start = 4 us guess
fill = 100000 guess
link = 55 GB/s guess
latency = 10 us guess

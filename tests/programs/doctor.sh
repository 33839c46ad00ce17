# `flowc doctor`: what flowc needs, line by line; each that is missing with its fix, and an exit code.
. tests/programs/lib/common.sh
standin=$root/$BUILD/lib/flowc/libflowsimcuda.so
says() { # exit code, line as a pattern, command…
    local code=$1 line=$2 actual=0
    shift 2
    "$@" >list 2>stderr || actual=$?
    [ $actual = "$code" ] || fail "exit $actual, not $code: $(cat list stderr)"
    grep -qE "$line" list || fail "no '$line' in: $(cat list)"
}
export FLOWC_LIBCUDA=/nowhere/libcuda.so FLOWC_LIBNVRTC=/nowhere/libnvrtc.so
says 0 '^ok +compiler +gcc|clang' "$FLOWC" doctor
for line in libomp processor memory cache scratch stand-in; do grep -q "^ok *$line" list || fail "$line: $(cat list)"; done
says 0 '^none +GPU +no NVIDIA driver: /nowhere/libcuda.so is not found' "$FLOWC" doctor
says 0 '^none +NVRTC' "$FLOWC" doctor
says 3 '^MISSING +GPU' "$FLOWC" doctor --device=gpu
grep -q -- '-> .*nvidia-driver' list || fail "no fix: $(cat list)"
says 3 '^MISSING +compiler +no C compiler' "$FLOWC" doctor --cc=nowhere-cc
grep -q -- '-> Debian: apt-get install gcc' list || fail "no fix: $(cat list)"
printf '#!/bin/sh\necho 10.2.1\n' >gcc-10 && chmod +x gcc-10
says 3 '^MISSING +compiler +.*gcc-10 10.2.1' "$FLOWC" doctor --cc="$PWD/gcc-10"
grep -q -- '-> gcc 11 and later do' list || fail "no fix: $(cat list)"
TMPDIR=/nowhere says 3 '^MISSING +scratch +/nowhere: No such file' "$FLOWC" doctor
mkdir -m 777 open && chmod 777 open && mkdir open/flowc && chmod 777 open/flowc
XDG_CACHE_HOME=$PWD/open says 0 '^none +cache +.*others could write there' "$FLOWC" doctor
says 0 '^ok +gpu\(1\) +simulated GPU 1, sm_90, .* free' "$FLOWC" doctor --simulate=gpu:2 --device=gpu
grep -q '^ok *driver.*(simulated)' list || fail "$(cat list)"
says 0 '^ok +gpu\(0\) +simulated GPU 1,' "$FLOWC" doctor --simulate=gpu:2 --visible-devices=1

# A driver that is there and broken, or too old for the NVRTC that is there.
FLOWC_SIMULATE_FAULT=cuDevicePrimaryCtxRetain:1:DEVICE_UNAVAILABLE says 3 '^MISSING +gpu\(0\) +.* busy or unavailable \(46\)' "$FLOWC" doctor --simulate=gpu:1
FLOWC_SIMULATE_FAULT=cuInit:1:SYSTEM_DRIVER_MISMATCH says 3 '^MISSING +GPU +the simulated driver can.t start: .*\(803\)' "$FLOWC" doctor --simulate=gpu:1 --device=gpu
FLOWC_LIBCUDA=libm.so.6 says 0 '^none +GPU +the NVIDIA driver is too old: it has no cuInit' "$FLOWC" doctor
expect 2 '--device is cpu or gpu' "$FLOWC" doctor --device=gpu9

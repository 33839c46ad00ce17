# The C that flowc leaves behind is cross-compiled for aarch64 and learns the same there, but for
# rounding; to the bit with any number of threads.
. tests/programs/lib/common.sh
root_of_aarch64=$root/$BUILD/aarch64/root
command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null ||
    { echo "no qemu-user, or no gcc-aarch64-linux-gnu"; exit 77; }
[ -z "$SAN" ] || { echo "this is for programs without sanitizers"; exit 77; }

# What programs are linked with, unpacked beside the system's own, which stays as it is.
unpack_libraries() {
    local state=$folder/packages
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$state/packages"
    private_apt() {
        apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$state/state" \
            -o Dir::State::status=/dev/null -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root "$@"
    }
    private_apt update && (cd "$state/packages" && private_apt download libomp5-19 libomp-19-dev zlib1g-dev)
    for package in "$state"/packages/*.deb; do dpkg -x "$package" "$state/unpacked"; done
    mkdir -p "$(dirname "$root_of_aarch64")" && mv "$state/unpacked" "$root_of_aarch64"
}
if [ ! -e "$root_of_aarch64" ]; then
    echo "unpacking libomp-19-dev and zlib1g-dev of arm64 into $root_of_aarch64"
    unpack_libraries >unpacking 2>&1 || { echo "no libraries for arm64: $(tail -n 1 unpacking)"; exit 77; }
fi

small_data
[ "$(uname -m)" != x86_64 ] || expect 2 "for other processors there is --emit=c" "$FLOWC" build "$digits" --target=aarch64
"$FLOWC" build "$digits" --emit=c -o emitted
include=$root_of_aarch64/usr/include
make -s -j"$(nproc)" -C emitted ARCH=-march=armv8-a OMP="$root_of_aarch64/usr/lib/llvm-19/lib/" \
    CC="aarch64-linux-gnu-gcc -I$include -I$include/aarch64-linux-gnu -L$root_of_aarch64/usr/lib/aarch64-linux-gnu" ||
    fail "the C does not compile for aarch64"
for threads in 1 2; do
    qemu-aarch64 -L /usr/aarch64-linux-gnu emitted/trainer --epochs=1 --threads=$threads >emulated.$threads
    mv digits.safetensors emulated.$threads.safetensors
done
same emulated.1 emulated.2
"$FLOWC" run "$digits" --epochs=1 --threads=1 >native
python3 - emulated.1 native <<'EOP'
import re, sys

found, wanted = ([float(n) for n in re.findall(r"\d+\.\d+", open(path).read())] for path in sys.argv[1:])
print(found, wanted)
assert wanted and len(found) == len(wanted), "other things are reported"
assert all(abs(f - w) <= 0.02 * abs(w) for f, w in zip(found, wanted)), "it learns otherwise"
EOP

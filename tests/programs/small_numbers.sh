#!/bin/bash
# Numbers below those that f32 holds with all its digits are 0, whoever reads them and computes.
source "$(dirname "$0")/lib/common.sh"
cat >small.flow <<'EOF'
pipeline small {
  return csv("small.csv") |> map(x: x |> : f32) |> map(x: [x, x * 0.5, x * 2])
      |> batch(4) |> unbatch() |> npy(x: "small.npy")
}
EOF
{ echo x; for i in $(seq 500); do echo "${i}e-40"; done; echo 2e-38; } >small.csv
"$FLOWC" build small.flow --target=native -o small >/dev/null
./small --workers=0 --threads=1
cp small.npy expected.npy
for split in "0 2" "1 1" "2 1" "3 2"; do
    read -r workers threads <<<"$split"
    ./small --workers="$workers" --threads="$threads"
    cmp small.npy expected.npy || fail "$workers workers and $threads threads read other numbers"
done

# Imports are looked for beside the file, in --path, in FLOW_PATH, in this order; circles do no harm.
. tests/programs/lib/common.sh
mkdir -p program/part first second third
says() { echo "dim N = $1"; } # a file that tells where it was found
cat >program/main.flow <<'END'
import "helper.flow"
export apply(x: f32[N]) -> f32[N] { return x }
END
found() { # N, arguments
    local size=$1
    shift
    "$FLOWC" check --dump-ir=lower "$@" program/main.flow >graph 2>stderr || fail "$(cat stderr)"
    grep -q "f32\[$size\]" graph || fail "not N = $size: $(cat graph)"
}
expect 1 'program/helper.flow: ' "$FLOWC" check program/main.flow
if grep -q 'looked for' stderr; then fail "$(cat stderr)"; fi
expect 1 'it was looked for there and in first:second' "$FLOWC" check --path=first:second program/main.flow
says 13 >third/helper.flow
FLOW_PATH=third found 13
says 12 >second/helper.flow
FLOW_PATH=third found 12 --path=first:second
says 11 >first/helper.flow
FLOW_PATH=third found 11 --path=first:second
FLOW_PATH=:third: found 13 --path=
says 10 >program/helper.flow
FLOW_PATH=third found 10 --path=first:second

# What an imported file imports is looked for beside that file first; a circle ends.
printf 'import "part/inner.flow"\n' >program/helper.flow
printf 'import "size.flow"\nimport "../helper.flow"\nimport "../main.flow"\ndim N = S + 1\n' >program/part/inner.flow
echo 'dim S = 20' >program/part/size.flow
printf 'import "part/inner.flow"\nexport apply(x: f32[N]) -> f32[N] { return x }\n' >program/main.flow
found 21
mkdir folder.flow
printf 'import "../folder.flow"\n' >program/main.flow
expect 1 'error[E0001]' "$FLOWC" check program/main.flow

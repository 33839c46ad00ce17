# Every .flow file of the repository that parses: formatting changes no token and no comment, and a
# formatted file stays as it is.
set -euo pipefail
count=0
tree() { "$BUILD/tests/print" "$1"; }
comments() { grep -o '#.*' "$1" | sed 's/[[:blank:]\r]*$//' || true; }
folder=$TEST_DIR/fmt.all
mkdir -p "$folder"
for file in $(git ls-files '*.flow'); do
    "$FLOWC" fmt - <"$file" >"$folder/once.flow" 2>/dev/null || continue
    "$FLOWC" fmt - <"$folder/once.flow" >"$folder/twice.flow"
    cmp "$folder/once.flow" "$folder/twice.flow"
    diff <(tree "$file") <(tree "$folder/once.flow") || { echo "$file"; exit 1; }
    diff <(comments "$file") <(comments "$folder/once.flow") || { echo "$file"; exit 1; }
    count=$((count + 1))
done
[ $count -gt 150 ] || { echo "only $count files parse"; exit 1; }

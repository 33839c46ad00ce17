# The manual's examples are programs. In each ```flow block of a README:
#   ```flow          a program or declarations, without error and as `flowc fmt` writes it
#   ```flow more     the same, behind the block before it
#   ```flow E0207    a program whose first error has that code
set -euo pipefail
root=$PWD
folder=$TEST_DIR/manual
rm -rf "$folder" && mkdir -p "$folder"
status=0
complain() { echo "$*" && status=1; }

# Each block as a file named by its line, with what stands behind `flow` in the file's .kind.
extract() { # page, folder
    awk -v folder="$2" '/^```flow/ { file = sprintf("%s/%05d.flow", folder, NR); sub(/^```flow */, "")
            print > (file ".kind"); printf "" > file; next }
        /^```/ { file = "" }
        file { print > file }' "$1"
}

check() { # page, block, program
    local line wanted
    line=$1:$((10#$(basename "$2" .flow)))
    wanted=$(cat "$2.kind")
    case $wanted in
    E*) "$FLOWC" check "$3" >said 2>&1 && complain "$line is no mistake"
        head -n 1 said | grep -qF "error[$wanted]" || complain "$line: $(head -n 1 said)" ;;
    "" | more) "$FLOWC" check "$3" || complain "$line is wrong"
        "$FLOWC" fmt --check "$2" >/dev/null || complain "$line is not as \`flowc fmt\` writes it: $("$FLOWC" fmt - <"$2" | diff "$2" -)" ;;
    *) complain "$line: what is \`$wanted\`?" ;;
    esac
}

for page in $(git ls-files '*README.md'); do
    pages=$folder/$(dirname "$page")
    mkdir -p "$pages" && cp examples/*.flow "$pages"
    extract "$page" "$pages"
    cd "$pages"
    : >program.flow
    for block in [0-9]*.flow; do
        [ -e "$block" ] || continue
        if [ "$(cat "$block.kind")" = more ]; then cat program.flow "$block" >both && mv both program.flow
        else cp "$block" program.flow; fi
        check "$page" "$block" program.flow
    done
    cd "$root"
done
[ "$(find "$folder" -name '*.kind' | wc -l)" -gt 10 ] || complain "there are few examples"
exit $status

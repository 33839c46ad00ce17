# Each code has a page in lang/errors/. What its first example shows is what `flowc check` prints and
# begins with the code; its second example is sound; both are as `flowc fmt` writes them. BLESS=1 puts
# what is printed into the pages.
set -euo pipefail
pages=$PWD/lang/errors
folder=$TEST_DIR/errors
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
status=0
complain() { echo "$*" && status=1; }

# The n-th fenced block of a page.
block() { awk -v n="$2" '/^```/ { inside = !inside; if (inside) count++; next } inside && count == n' "$1"; }

bless() { # page, text file: the second block becomes that text
    awk -v text="$2" '/^```/ { inside = !inside; if (inside) count++; print
            if (inside && count == 2) while ((getline line < text) > 0) print line
            next }
        !(inside && count == 2)' "$1" >page && cp page "$1"
}

check_examples() { # code, page
    block "$2" 1 >"$1.flow"
    "$FLOWC" check "$1.flow" >said 2>&1 && complain "$1: the wrong example is not wrong"
    head -n 1 said | grep -qF "error[$1]" || complain "$1: another error is first: $(head -n 1 said)"
    grep -q '^1 error$' said || complain "$1: more than one error"
    [ -z "${BLESS:-}" ] || bless "$2" <(sed -e '/^1 error$/d' said | sed -e '$d')
    block "$2" 2 | diff -u - <(sed -e '/^1 error$/d' said | sed -e '$d') || complain "$1: that is not what flowc says"
    block "$2" 3 >mended.flow
    "$FLOWC" check mended.flow || complain "$1: the mended example is wrong"
    "$FLOWC" fmt --check mended.flow || complain "$1: the mended example is not formatted"
}

for code in $("$FLOWC" explain | grep -o '^E[0-9]*'); do
    page=$pages/$code.md
    [ -e "$page" ] || { complain "$code has no page: lang/errors/$code.md"; continue; }
    title=$("$FLOWC" explain | sed -n "s/^$code  //p")
    [ "$(head -n 1 "$page")" = "# $code: $title" ] || complain "$code: the heading is not '# $code: $title'"
    if grep -q '^```' "$page"; then check_examples "$code" "$page"
    else grep -q '^There is no example here' "$page" || complain "$code: no example"; fi
done
for page in "$pages"/*.md; do
    code=$(basename "$page" .md)
    "$FLOWC" explain "$code" | head -n 1 | grep -q "^$code: " || complain "$code is no code"
done

"$FLOWC" explain 207 | cmp - <("$FLOWC" explain E0207)
"$FLOWC" explain e0207 | cmp - <("$FLOWC" explain E0207)
for wrong in E9999 E E0207x 0x207 -1; do
    "$FLOWC" explain $wrong 2>/dev/null && complain "explain $wrong finds something"
done
exit $status

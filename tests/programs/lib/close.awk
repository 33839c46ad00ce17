# paste EXPECTED FOUND | awk -v most=1e-3 -f close.awk: both have the same words, and the same numbers
# but for so much of their size, or of 1; nothing is not the same as nothing.
function is_number(word) { return word ~ /^[-+]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?$/ }
function size(number) { return number < 0 ? -number : number }
function is_close(a, b) {
    return a "" == b "" || is_number(a) && is_number(b) && size(a - b) <= most * (size(a + 0) + 1)
}
BEGIN { FS = "\t" }
{
    count = split($1, expected, /[ =:,]+/)
    if (split($2, found, /[ =:,]+/) != count) bad = 1
    for (i = 1; i <= count; i++)
        if (!is_close(expected[i], found[i])) bad = 1
}
END { exit bad || !NR }

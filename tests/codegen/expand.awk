# The text of a kernel file with each #include "…" in its place, as the driver's device_text.c does.
# awk -v folders="a b" -f expand.awk FILE
function find(name,    n, i, list, path, line) {
    n = split(folders, list, " ")
    for (i = 1; i <= n; i++) {
        path = list[i] "/" name
        if ((getline line < path) >= 0) { close(path); return path }
    }
    print name " is not found" > "/dev/stderr"
    exit 1
}
function read_all(path,    line, count, lines) {
    text[path] = ""
    while ((getline line < path) > 0) text[path] = text[path] line "\n"
    close(path)
}
function expand(path,    count, lines, i, name) {
    if (inside[path]) return
    if (!(path in text)) read_all(path)
    inside[path] = 1
    count = split(text[path], lines, "\n")
    for (i = 1; i < count; i++)
        if (lines[i] ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
            name = lines[i]
            sub(/^[^"]*"/, "", name)
            sub(/".*/, "", name)
            expand(find(name))
        } else print lines[i]
    inside[path] = 0
}
BEGIN { expand(ARGV[1]) }

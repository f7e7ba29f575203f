# awk -f changes.awk WAS IS: what is not the same in two tables whose rows begin with a name; "columns" of them count.
# The lines that begin with # are comments.
BEGIN { FS = "\t" }
/^#/ { next }
{
	row = ""
	for (i = 2; i <= NF && (!columns || i <= columns); i++)
		row = row (i > 2 ? " " : "") $i
}
FNR == NR { was[$1] = row; next }
!($1 in was) { print $1 ": was not there -> is " row; next }
was[$1] != row { print $1 ": was " was[$1] " -> is " row }
{ seen[$1] }
END {
	for (name in was)
		if (!(name in seen))
			print name ": was " was[name] " -> is not there"
}

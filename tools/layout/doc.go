// Package layout checks what no compiler checks: the set of folders, the direction of imports, that no file contains
// a path of a machine, and that lines are not too long.
package layout

package symbol

import "strings"

// JoinPath appends a node's name to the path of its parent: ".name" for fields, "[3]" as it is.
func JoinPath(parent, name string) string {
	if parent == "" || strings.HasPrefix(name, "[") {
		return parent + name
	}
	return parent + "." + name
}

// NativeBlock is the type of nodes that stand for blocks of C's malloc.
const NativeBlock = "native block"

// FoldPath rewrites a node name as refscan.Report.Fold does. Text in brackets or parentheses is the
// name of a type or function, and stays as it is: in "timer(app.Tick[[4]string])", [4] is the
// length of an array, and no index.
func FoldPath(name string) string {
	if !strings.ContainsAny(name, "[$") {
		return name
	}
	var b strings.Builder
	depth := 0 // of brackets and parentheses
	for i := 0; i < len(name); {
		rest := name[i:]
		switch {
		case depth > 0 || strings.IndexByte("[(", rest[0]) >= 0 && !isIndex(rest):
			switch rest[0] {
			case '[', '(':
				depth++
			case ']', ')':
				depth--
			}
			b.WriteByte(rest[0])
			i++
		case strings.HasPrefix(rest, "$mapval"):
			trimDot(&b)
			b.WriteString("[*]")
			i += len("$mapval")
		case strings.HasPrefix(rest, "$mapkey"):
			trimDot(&b)
			b.WriteString("[$key]")
			i += len("$mapkey")
		case isIndex(rest):
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				end = len(rest) - 1
			}
			b.WriteString("[*]")
			i += end + 1
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// isIndex reports whether a name begins with an index: "[3]", or "[10+]".
func isIndex(name string) bool {
	return len(name) > 1 && name[0] == '[' && name[1] >= '0' && name[1] <= '9'
}

func trimDot(b *strings.Builder) {
	if s := b.String(); strings.HasSuffix(s, ".") {
		b.Reset()
		b.WriteString(s[:len(s)-1])
	}
}

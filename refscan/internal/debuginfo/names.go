package debuginfo

import "strings"

// plainName undoes the linker's escaping of import paths, "gopkg.in/yaml%2ev3.Node" (go1.26
// cmd/internal/objabi/path.go, PathToPrefix: dots after the last slash, control characters, '%', '"' and what is not ASCII).
// Only escapes that a path can need are undone, so that a percent sign in a struct tag stays as it is.
func plainName(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.IndexByte(s, '%') {
		b = append(b, s[:i]...)
		c, ok := escaped(s[i:])
		if ok {
			s = s[i+3:]
		} else {
			c, s = '%', s[i+1:]
		}
		b = append(b, c)
	}
	return string(append(b, s...))
}

func escaped(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, lo := strings.IndexByte(hexDigits, s[1]), strings.IndexByte(hexDigits, s[2])
	if hi < 0 || lo < 0 {
		return 0, false
	}
	c := byte(hi<<4 | lo)
	return c, c == '.' || c >= 0x7f
}

const hexDigits = "0123456789abcdef"

// packageOf returns the import path of a symbol's package, "" for what belongs to none ("type:.eq.T", "go:itab.X").
// It takes the name as the linker has it: the path's own dots after the last slash are escaped, so the first dot there ends it.
func packageOf(symbol string) string {
	if i := strings.IndexAny(symbol, "[("); i >= 0 {
		// Type arguments and receivers have paths of their own.
		symbol = symbol[:i]
	}
	slash := strings.LastIndexByte(symbol, '/') + 1
	dot := strings.IndexByte(symbol[slash:], '.')
	if dot < 0 || strings.Contains(symbol[:slash+dot], ":") {
		return ""
	}
	return plainName(symbol[:slash+dot])
}

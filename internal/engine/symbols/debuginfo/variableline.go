package debuginfo

// variableLine returns the line of Go source that declares a package variable, 0 if none does. It
// only tracks the nesting of brackets: each "var" outside of brackets declares package variables.
// go/scanner would do the same, but adds 28 kB to a test binary, and go/parser 190 kB.
func variableLine(src []byte, name string) int {
	if name == "_" {
		return 0
	}
	s := tokens{src: src, line: 1}
	depth, group := 0, false // depth of brackets; whether the outermost is that of "var ("
	// whether the token is among the names of a declaration: from "var" or a new line of a group up
	// to the first token that is neither name nor comma
	inNames := false
	for last := byte(newline); ; {
		tok, text := s.next()
		switch tok {
		case 0:
			return 0
		case word:
			switch {
			case string(text) == "var":
				inNames, tok = depth == 0, keyword
			case inNames && last != word && string(text) == name:
				return s.line
			default:
				inNames = inNames && last != word // the second of two in a row is a type
			}
		case ',':
		case newline:
			inNames = group && depth == 1
		case '(', '[', '{':
			group = group || tok == '(' && last == keyword && depth == 0
			inNames = group && depth == 0
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
			group = group && depth > 0
			inNames = false
		default:
			inNames = false
		}
		last = tok
	}
}

package debuginfo

// fieldLine returns the line of Go source that declares a field of a struct type, 0 if none does.
// Like variableLine, it only tracks the nesting of brackets.
func fieldLine(src []byte, typ, field string) int {
	s := tokens{src: src, line: 1}
	depth, group := 0, false // depth of brackets; whether the outermost is that of "type ("
	// whether the token may be a type's name; from the type's name on, the depth of its
	// declaration, else -1; within the struct, whether the token is among the names of a field
	named, declared, inNames := false, -1, false
	isStruct := false // the last word is "struct"
	for last := byte(newline); ; {
		tok, text := s.next()
		inStruct := declared >= 0 && depth == declared+1
		switch tok {
		case 0:
			return 0
		case word:
			switch {
			case declared < 0 && depth == 0 && string(text) == "type":
				named = true
				tok = keyword
			case declared < 0:
				if named && string(text) == typ {
					declared = depth
				}
				named = false
			case inStruct && inNames && last != word && string(text) == field:
				return s.line
			default:
				inNames = inNames && last != word // the second of two in a row is a type
			}
			isStruct = string(text) == "struct"
		case newline:
			if declared == depth {
				return 0 // of another type than a struct
			}
			named, inNames = group && depth == 1, inStruct
		case '(', '[', '{':
			group = group || tok == '(' && last == keyword && depth == 0
			named = group && depth == 0
			inNames = tok == '{' && isStruct && depth == declared
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
			group = group && depth > 0
			named, inNames = false, false
			if depth < declared {
				return 0
			}
		case ',', '.':
		case '*':
			inNames = inNames && (last == newline || last == '{') // an embedded pointer
		default:
			inNames = false
		}
		if tok != word {
			isStruct = false
		}
		last = tok
	}
}

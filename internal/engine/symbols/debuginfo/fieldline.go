package debuginfo

// fieldLine returns the line of Go source that declares a field of a struct type, 0 if none does.
func fieldLine(src []byte, typ, field string) int {
	d := declarationsBy("type", src)
	named := false // the token may be a type's name
	for {
		switch tok, text := d.next(); {
		case tok == 0:
			return 0
		case tok == word && named && string(text) == typ:
			return fieldOf(d, field)
		default:
			named = d.begins()
		}
	}
}

// fieldOf returns the line that declares a field of the type whose name was read; 0 if none does.
func fieldOf(d *declarations, field string) int {
	declared := d.depth
	inNames := false // within the struct: the token is among the names of a field
	isStruct := false
	for {
		switch tok, text := d.next(); tok {
		case 0:
			return 0
		case word:
			if inNames && d.last != word && d.depth == declared+1 && string(text) == field {
				return d.line
			}
			inNames = inNames && d.last != word // the second of two in a row is a type
			isStruct = string(text) == "struct"
			continue
		case newline:
			if d.depth == declared {
				return 0 // of another type than a struct
			}
			inNames = d.depth == declared+1
		case '{':
			inNames = isStruct && d.depth == declared+1
		case ')', ']', '}':
			if inNames = false; d.depth < declared {
				return 0
			}
		case ',', '.':
		case '*':
			inNames = inNames && (d.last == newline || d.last == '{') // an embedded pointer
		default:
			inNames = false
		}
		isStruct = false
	}
}

package debuginfo

// variableLine returns the line of Go source that declares a package variable, 0 if none does.
func variableLine(src []byte, name string) int {
	if name == "_" {
		return 0
	}
	d := declarationsBy("var", src)
	// whether the token is among the names of a declaration: up to the first token that is neither
	// name nor comma
	inNames := false
	for {
		switch tok, text := d.next(); tok {
		case 0:
			return 0
		case word:
			if inNames && d.last != word && string(text) == name {
				return d.line
			}
			inNames = inNames && d.last != word // the second of two in a row is a type
		case ',':
		default:
			inNames = d.begins()
		}
	}
}

package attribute

import "testing"

func TestNamedTypes(t *testing.T) {
	for name, want := range map[string]bool{
		"example.com/app.T": true, "example.com/app.Box[*example.com/app.T]": true,
		"map[string]example.com/app.T": false, "[]app.T": false, "*app.T": false, "func(app.T)": false, "struct { x app.T }": false, "int": false,
	} {
		if isNamed(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

package withoutdwarf

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
)

//go:generate go run ./gen

// parseLayouts turns a table ("type field offset field offset ...", a line a type) into struct
// types whose fields have dotted names and no types.
func parseLayouts(table string) map[string]debuginfo.Type {
	types := make(map[string]debuginfo.Type)
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		t := debuginfo.Type{Name: words[0], Kind: reflect.Struct}
		for i := 1; i+1 < len(words); i += 2 {
			n, _ := strconv.ParseInt(words[i+1], 10, 64) // a test parses all tables
			if words[i] == "sizeof" {
				t.Size = n
			} else {
				t.Fields = append(t.Fields, debuginfo.Field{Name: words[i], Offset: n})
			}
		}
		types[t.Name] = t
	}
	return types
}

// The program cgohandles holds values with pointers to a C struct that is declared and never
// defined, as the handles of most C libraries are, and prints how many of each type a snapshot finds
// where.
package main

// struct opaque;
// typedef struct opaque opaque_t;
// static struct opaque *open_handle(void) { return (struct opaque *)1; }
import "C"

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/testdata/held"
)

// A pointer to such a struct is none to the collector. So the values lie where those without
// pointers do, except for an owner.
type (
	handle struct{ p *C.struct_opaque }
	pair   struct{ a, b *C.opaque_t }
	owner  struct {
		h    *C.struct_opaque
		name *string
	}
	resource C.struct_opaque // a type of its own
	wrapper  struct{ r *resource }
)

var (
	handles  []*handle
	pairs    = map[int]any{}
	owners   []*owner
	wrappers []*wrapper
	plain    []*C.struct_opaque
)

func hold() {
	for i := range 100 {
		handles = append(handles, &handle{C.open_handle()})
		pairs[i] = &pair{C.open_handle(), C.open_handle()}
		name := strings.Repeat("n", 20)
		owners = append(owners, &owner{C.open_handle(), &name})
		wrappers = append(wrappers, &wrapper{(*resource)(C.open_handle())})
		plain = append(plain, C.open_handle())
	}
}

func main() {
	hold()
	held.Print(func(path string, n *refscan.Node) string {
		if !strings.HasPrefix(n.Type, "*main.") {
			return ""
		}
		return path + " " + n.Type
	})
}

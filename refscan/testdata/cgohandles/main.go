// The program cgohandles holds values with pointers to a C struct that is declared and never
// defined, as the handles of most C libraries are, and prints how many of each type a snapshot finds
// where.
package main

// struct opaque;
// typedef struct opaque opaque_t;
// static struct opaque *open_handle(void) { return (struct opaque *)1; }
import "C"

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/refscan"
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
	s, err := refscan.Capture()
	if err != nil {
		log.Fatal(err)
	}
	r, err := s.Scan()
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	out := struct {
		Totals refscan.Totals
		Held   map[string]int64
	}{r.Totals, map[string]int64{}}
	var walk func(string, *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = nodename.Join(path, n.Name)
		if strings.HasPrefix(n.Type, "*main.") && n.Objects > 0 {
			out.Held[path+" "+n.Type] += n.Objects
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		walk("", n)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}

package shop

// A Set is a set.
type Set[T comparable] map[T]struct{}

// A Box wraps a value.
type Box[T any] struct{ V T }

// A Handle refers to a value.
type Handle[T any] struct {
	ID int
	Of *T
}

// A Table maps keys to values and knows what it is part of.
type Table[K comparable, V any] struct {
	rows map[K]V
	Srv  *Server
}

// Put adds a row.
func (t *Table[K, V]) Put(k K, v V) { t.rows[k] = v }

var (
	Online  Set[*Session]
	Boxes   map[int]Box[*Server]
	Boxed   []*Box[*Session]
	Handles map[int]*Handle[Server]
	Lookup  *Table[string, *Session]
)

func resetGenerics() {
	Online, Boxes, Boxed, Handles = Set[*Session]{}, map[int]Box[*Server]{}, nil, map[int]*Handle[Server]{}
	Lookup = &Table[string, *Session]{rows: map[string]*Session{}}
}

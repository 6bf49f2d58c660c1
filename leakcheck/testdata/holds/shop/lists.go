package shop

// A List is a generic list, written by hand.
type List[T any] struct {
	head *item[T]
	Len  int
}

type item[T any] struct {
	value T
	next  *item[T]
}

// Add puts a value in front.
func (l *List[T]) Add(v T) {
	l.head = &item[T]{v, l.head}
	l.Len++
}

var (
	Head  *Session // of a list by Session.Next
	Chain *List[*Session]
)

func resetLists() { Head, Chain = nil, &List[*Session]{} }

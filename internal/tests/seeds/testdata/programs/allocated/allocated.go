// Package allocated has many methods String that return a pointer to a string, as code does that is
// generated for optional fields.
package allocated

// Names of these types are built when they are asked for.
type (
	City   struct{ Name, Country string }
	Street struct{ Name, Number string }
	Person struct{ First, Last string }
)

//go:noinline
func (c City) String() *string { return join(c.Name, c.Country) }

//go:noinline
func (s Street) String() *string { return join(s.Name, s.Number) }

//go:noinline
func (p Person) String() *string { return join(p.First, p.Last) }

func join(a, b string) *string {
	s := a + " " + b
	return &s
}

// Kept is what the methods returned last.
var Kept *string

// Each calls the methods of 12 values of each type: 36 pointers to strings.
func Each() {
	for range 12 {
		Kept = City{"Vila Nova de Gaia", "Portugal"}.String()
		Kept = Street{"Rua de Santa Catarina", "73"}.String()
		Kept = Person{"Fernando António", "Pessoa"}.String()
	}
}

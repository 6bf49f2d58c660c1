// Package allocated has 36 methods String that return a pointer to a string, as code has that is
// generated for optional fields.
package allocated

type text struct{ a, b string }

// Texts of these types are built when they are asked for.
type (
	Airport text
	Alley text
	Arcade text
	Avenue text
	Boulevard text
	Bridge text
	Canal text
	Castle text
	Cathedral text
	City text
	Court text
	Crescent text
	District text
	Drive text
	Forest text
	Garden text
	Harbour text
	Highway text
	Hill text
	Island text
	Lake text
	Lane text
	Market text
	Mountain text
	Museum text
	Palace text
	Park text
	Person text
	Quarter text
	River text
	Road text
	Square text
	Station text
	Street text
	Tower text
	Village text
)

func (t *Airport) String() *string { s := t.a + " " + t.b; return &s }

func (t *Alley) String() *string { s := t.a + " " + t.b; return &s }

func (t *Arcade) String() *string { s := t.a + " " + t.b; return &s }

func (t *Avenue) String() *string { s := t.a + " " + t.b; return &s }

func (t *Boulevard) String() *string { s := t.a + " " + t.b; return &s }

func (t *Bridge) String() *string { s := t.a + " " + t.b; return &s }

func (t *Canal) String() *string { s := t.a + " " + t.b; return &s }

func (t *Castle) String() *string { s := t.a + " " + t.b; return &s }

func (t *Cathedral) String() *string { s := t.a + " " + t.b; return &s }

func (t *City) String() *string { s := t.a + " " + t.b; return &s }

func (t *Court) String() *string { s := t.a + " " + t.b; return &s }

func (t *Crescent) String() *string { s := t.a + " " + t.b; return &s }

func (t *District) String() *string { s := t.a + " " + t.b; return &s }

func (t *Drive) String() *string { s := t.a + " " + t.b; return &s }

func (t *Forest) String() *string { s := t.a + " " + t.b; return &s }

func (t *Garden) String() *string { s := t.a + " " + t.b; return &s }

func (t *Harbour) String() *string { s := t.a + " " + t.b; return &s }

func (t *Highway) String() *string { s := t.a + " " + t.b; return &s }

func (t *Hill) String() *string { s := t.a + " " + t.b; return &s }

func (t *Island) String() *string { s := t.a + " " + t.b; return &s }

func (t *Lake) String() *string { s := t.a + " " + t.b; return &s }

func (t *Lane) String() *string { s := t.a + " " + t.b; return &s }

func (t *Market) String() *string { s := t.a + " " + t.b; return &s }

func (t *Mountain) String() *string { s := t.a + " " + t.b; return &s }

func (t *Museum) String() *string { s := t.a + " " + t.b; return &s }

func (t *Palace) String() *string { s := t.a + " " + t.b; return &s }

func (t *Park) String() *string { s := t.a + " " + t.b; return &s }

func (t *Person) String() *string { s := t.a + " " + t.b; return &s }

func (t *Quarter) String() *string { s := t.a + " " + t.b; return &s }

func (t *River) String() *string { s := t.a + " " + t.b; return &s }

func (t *Road) String() *string { s := t.a + " " + t.b; return &s }

func (t *Square) String() *string { s := t.a + " " + t.b; return &s }

func (t *Station) String() *string { s := t.a + " " + t.b; return &s }

func (t *Street) String() *string { s := t.a + " " + t.b; return &s }

func (t *Tower) String() *string { s := t.a + " " + t.b; return &s }

func (t *Village) String() *string { s := t.a + " " + t.b; return &s }

// Kept is what a method returned last.
var Kept *string

// Each calls each method once, on a value with these texts.
func Each() {
	t := text{"Vila Nova de Gaia", "Portugal"}
	Kept = (*Airport)(&t).String()
	Kept = (*Alley)(&t).String()
	Kept = (*Arcade)(&t).String()
	Kept = (*Avenue)(&t).String()
	Kept = (*Boulevard)(&t).String()
	Kept = (*Bridge)(&t).String()
	Kept = (*Canal)(&t).String()
	Kept = (*Castle)(&t).String()
	Kept = (*Cathedral)(&t).String()
	Kept = (*City)(&t).String()
	Kept = (*Court)(&t).String()
	Kept = (*Crescent)(&t).String()
	Kept = (*District)(&t).String()
	Kept = (*Drive)(&t).String()
	Kept = (*Forest)(&t).String()
	Kept = (*Garden)(&t).String()
	Kept = (*Harbour)(&t).String()
	Kept = (*Highway)(&t).String()
	Kept = (*Hill)(&t).String()
	Kept = (*Island)(&t).String()
	Kept = (*Lake)(&t).String()
	Kept = (*Lane)(&t).String()
	Kept = (*Market)(&t).String()
	Kept = (*Mountain)(&t).String()
	Kept = (*Museum)(&t).String()
	Kept = (*Palace)(&t).String()
	Kept = (*Park)(&t).String()
	Kept = (*Person)(&t).String()
	Kept = (*Quarter)(&t).String()
	Kept = (*River)(&t).String()
	Kept = (*Road)(&t).String()
	Kept = (*Square)(&t).String()
	Kept = (*Station)(&t).String()
	Kept = (*Street)(&t).String()
	Kept = (*Tower)(&t).String()
	Kept = (*Village)(&t).String()
}

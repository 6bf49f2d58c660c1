package shop

// An Entry is a value of a map that refers to a session.
type Entry struct{ Of *Session }

var (
	Sessions map[int]*Session
	Index    map[int]*Session // meant to have the sessions, too
	Tenants  map[string]map[int]*Session
	ByUser   map[string][]*Session
	Entries  map[int]*Entry
	Pairs    map[[2]int]Entry
)

func resetMaps() {
	Sessions = map[int]*Session{}
	Index = map[int]*Session{}
	Tenants = map[string]map[int]*Session{}
	ByUser = map[string][]*Session{}
	Entries = map[int]*Entry{}
	Pairs = map[[2]int]Entry{}
}

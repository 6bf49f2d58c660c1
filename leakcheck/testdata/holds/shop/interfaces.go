package shop

// A Handler handles.
type Handler interface{ Handle() }

// A Bus has listeners.
type Bus struct{ Listeners []Handler }

// A Closer is what a server is to those that it owns.
type Closer interface{ OnClose() }

// A Guest knows its owner by an interface.
type Guest struct {
	ID int
	Of Closer
}

var (
	Handlers map[string]Handler
	Events   *Bus
	Guests   map[int]*Guest
)

func resetInterfaces() { Handlers, Events, Guests = map[string]Handler{}, &Bus{}, map[int]*Guest{} }

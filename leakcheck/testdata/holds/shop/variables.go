package shop

// An Application is a struct that a variable points to.
type Application struct {
	Srv   *Server
	Store *Store
}

// A Universe is one more layer.
type Universe struct{ App *Application }

// Settings are shared by all sessions.
type Settings struct{ Tables map[string][]byte }

var (
	Current *Session
	Srv     *Server
	App     *Application
	World   *Universe
	Conf    *Settings

	// Registry is a struct itself, not a pointer to one.
	Registry struct {
		Items  map[string]any
		Latest *Session
	}
)

func resetVariables() {
	Current = nil
	Srv = &Server{Sessions: map[int]*Session{}, Cache: map[int]*Session{}, Store: NewStore()}
	App = &Application{Store: NewStore()}
	World = nil
	Conf = nil
	Registry.Items, Registry.Latest = map[string]any{}, nil
}

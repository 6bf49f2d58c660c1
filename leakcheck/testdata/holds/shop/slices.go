package shop

// A Row is an element with a pointer in it.
type Row struct {
	ID   int
	Sess *Session
	Srv  *Server
}

// A Failure is an error that refers to the server where it happened.
type Failure struct {
	Op  string
	Srv *Server
}

// Error makes an error of it.
func (f *Failure) Error() string { return f.Op }

var (
	Queue    []*Session
	Rows     []Row
	Slots    [8]*Session
	Servers  []*Server
	Failures []error
)

func resetSlices() {
	Queue, Rows, Slots, Servers, Failures = nil, nil, [8]*Session{}, nil, nil
}

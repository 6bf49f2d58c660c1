package shop

import "context"

// A Job waits in a channel.
type Job struct {
	ID  int
	Buf []byte
	Ctx context.Context
}

// NewJob makes a job of two objects.
func NewJob(id int) *Job { return &Job{ID: id, Buf: make([]byte, 256)} }

var (
	Jobs   chan *Job
	Orders chan any
)

func resetChannels() { Jobs, Orders = make(chan *Job, 16), make(chan any, 16) }

package repeat

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Exit codes of a process that ended itself: a function did not return, the command is gone, or
// nothing can be written any more.
const (
	exitHang    = 97
	exitAlone   = 98
	ExitJournal = 99
)

// A journal is a file to which events are appended, one per line. An event is in the file when
// write returns, however the process ends afterwards.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func openJournal(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// write appends an event. If that fails, no later event can be reported either, and it ends the
// process with ExitJournal.
func (j *journal) write(e Event) {
	line, err := json.Marshal(e)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(ExitJournal)
	}
}

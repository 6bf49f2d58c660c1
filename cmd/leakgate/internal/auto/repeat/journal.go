package repeat

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Exit codes of a process that ended itself: since a function did not come back, since the command
// is gone, or since nothing can be written any more.
const (
	exitHang    = 97
	exitAlone   = 98
	ExitJournal = 99
)

// A journal is a file that events are appended to, one a line. Each is there when write returns,
// whatever ends the process then.
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

// write appends an event. Where that fails nothing that follows can be told, so it ends the process
// with ExitJournal.
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

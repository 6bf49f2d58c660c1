// Package nativename asks the leakgate command for the names of calls of C code. It can read debug information of C,
// for which a test binary would have to be larger.
package nativename

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/leakgate/leakgate/internal/nativestack"
	"github.com/leakgate/leakgate/internal/plainjson"
)

// Ask runs the command, which takes about as long as it takes to read the debug information of the program and of its
// libraries. What it says when it fails is part of the error.
func Ask(ctx context.Context, command string, record *nativestack.Record) (*nativestack.Answer, error) {
	var in bytes.Buffer
	var out, said strings.Builder
	if err := plainjson.Encode(&in, record); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command, nativestack.Flag)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &said
	// Opened here, since a system may not let a child look into its parent.
	if memory, err := os.Open("/proc/self/mem"); err == nil {
		defer memory.Close()
		cmd.ExtraFiles = []*os.File{memory} // nativestack.MemoryFD
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(said.String()))
	}
	return nativestack.Parse(out.String())
}

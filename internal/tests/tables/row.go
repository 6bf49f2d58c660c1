package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/leakgate/leakgate/refscan"
)

// A row is one audit, as tests record it.
type row struct {
	Test   string         `json:"test"`
	Totals refscan.Totals `json:"totals"`
	// bytes without a type that belong to a variable which the linker dropped
	Unused  int64  `json:"unused"`
	Error   string `json:"error"` // why there are no totals
	Untyped []struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	} `json:"untyped"` // the largest, in a probe's rows only
}

// typed is the share of bytes with a known type, in percent.
func (r *row) typed() float64 {
	return percent(r.Totals.TypedBytes, r.Totals.AttributedBytes)
}

// typable is the typed share, in percent, of the bytes below variables that the linker has kept.
func (r *row) typable() float64 {
	return percent(r.Totals.TypedBytes, r.Totals.AttributedBytes-r.Unused)
}

// attributed is the share of live bytes that a root is charged with, in percent.
func (r *row) attributed() float64 {
	return percent(r.Totals.AttributedBytes, r.Totals.LiveBytes)
}

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// readRows reads the rows that tests recorded; none if there is no file.
func readRows(name string) ([]row, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []row
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var r row
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("what the tests recorded cannot be read: %w", err)
		}
		rows = append(rows, r)
	}
}

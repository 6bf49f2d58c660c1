//go:build !linux

package ledger

import (
	"errors"
	"fmt"
	"runtime"
)

// A Glance tells the resources of one moment apart without naming them.
type Glance struct{}

var errUnsupported = fmt.Errorf("on %s descriptors, threads and child processes cannot be listed: %w", runtime.GOOS, errors.ErrUnsupported)

// TakeGlance is not supported on this system.
func TakeGlance() (*Glance, error) { return nil, errUnsupported }

// Renew is not supported on this system.
func (g *Glance) Renew() error { return errUnsupported }

// NewSince returns nothing.
func (g *Glance) NewSince(*Glance) (found Amounts) { return found }

// CountDescriptors is not supported on this system.
func CountDescriptors() (int64, error) { return 0, errUnsupported }

// CountTasks is not supported on this system.
func CountTasks() (int64, error) { return 0, errUnsupported }

// Limits is not supported on this system.
func Limits() []Limit { return nil }

// Take is not supported on this system.
func Take(string) (*Ledger, error) { return nil, errUnsupported }

// Descriptors tells open descriptors apart.
type Descriptors map[int]bool

// ListDescriptors is not supported on this system.
func ListDescriptors() (Descriptors, error) { return nil, errUnsupported }

// OpenedSince is not supported on this system.
func OpenedSince(Descriptors) ([]Item, error) { return nil, errUnsupported }

// AnonymousBytes is not supported on this system.
func AnonymousBytes() (int64, error) { return 0, errUnsupported }

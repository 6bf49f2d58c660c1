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
func TakeGlance(string) (*Glance, error) { return nil, errUnsupported }

// Again is not supported on this system.
func (g *Glance) Again() (*Glance, error) { return nil, errUnsupported }

// Renew is not supported on this system.
func (g *Glance) Renew() error { return errUnsupported }

// NewSince returns nothing.
func (g *Glance) NewSince(*Glance) (found Amounts) { return found }

// CountUses is not supported on this system.
func CountUses(*Uses) (*Uses, error) { return nil, errUnsupported }

// Limits is not supported on this system.
func Limits(*Uses) []Limit { return nil }

// Take is not supported on this system.
func Take(string) (*Ledger, error) { return nil, errUnsupported }

// A DescriptorSet tells open descriptors apart.
type DescriptorSet map[int]bool

// ListDescriptors is not supported on this system.
func ListDescriptors() (DescriptorSet, error) { return nil, errUnsupported }

// OpenedSince is not supported on this system.
func OpenedSince(DescriptorSet) ([]Item, error) { return nil, errUnsupported }

// AnonymousBytes is not supported on this system.
func AnonymousBytes() (int64, error) { return 0, errUnsupported }

// Another is not supported on this system.
type Another struct{}

// OpenAnother is not supported on this system.
func OpenAnother(int) *Another { return &Another{} }

// Take is not supported on this system.
func (*Another) Take(int64, func() (int64, error)) (*Ledger, error) { return nil, errUnsupported }

// Close does nothing.
func (*Another) Close() {}

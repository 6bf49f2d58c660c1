// Package leakcheck has the names of the real one.
package leakcheck

import "weak"

type (
	TestingT interface{ Errorf(string, ...any) }
	Option   interface{ option() }
	Selector struct{}
	Bound    struct{ Option }
	Baseline struct{}
	TestingM interface{ Run() int }
)

func (Selector) None() Bound            { return Bound{} }
func (Selector) MaxObjects(int64) Bound { return Bound{} }
func (Bound) MaxBytes(int64) Bound      { return Bound{} }

func AssertRetained(TestingT, ...Option) bool                       { return true }
func AssertNoGrowth(TestingT, func(), ...Option) bool               { return true }
func AssertPeak(TestingT, func(), ...Option) bool                   { return true }
func VerifyTestMain(TestingM, ...Option)                            {}
func Iterations(int) Option                                         { return nil }
func Goroutines(string) Selector                                    { return Selector{} }
func ExpectCollected[T any](TestingT, *T, string)                   {}
func AssertCollected[T any](TestingT, weak.Pointer[T], string) bool { return true }
func TakeBaseline(TestingT) *Baseline                               { return nil }
func Root(string) Selector                                          { return Selector{} }
func Path(string) Selector                                          { return Selector{} }
func Type[T any]() Selector                                         { return Selector{} }
func TypeNamed(string) Selector                                     { return Selector{} }
func Since(*Baseline) Option                                        { return nil }
func Golden(string) Option                                          { return nil }
func Scope(...string) Option                                        { return nil }
func Ignore(string, string) Option                                  { return nil }

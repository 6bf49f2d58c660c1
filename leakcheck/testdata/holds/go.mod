module example.com/holds

go 1.26.0

require github.com/leakgate/leakgate v0.0.0

replace github.com/leakgate/leakgate => ../../..

module example.com/shop

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000

"""What processes of Rota say to each other over a network: `.proto` files, and what is made of them."""

print("bramley")
